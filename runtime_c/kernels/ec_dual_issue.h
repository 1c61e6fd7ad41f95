/* This program is for a core that begins two instructions in a cycle, one of them a multiplication: loops in assembly are
   in the order for that. */
#ifndef EC_DUAL_ISSUE_H
#define EC_DUAL_ISSUE_H

#define EC_DUAL_ISSUE 1

#endif
