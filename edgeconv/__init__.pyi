from edgeconv.app.api import EdgeconvError as EdgeconvError
from edgeconv.app.api import Layer as Layer
from edgeconv.app.api import LayerTime as LayerTime
from edgeconv.app.api import MetricFunction as MetricFunction
from edgeconv.app.api import Options as Options
from edgeconv.app.api import Port as Port
from edgeconv.app.api import Program as Program
from edgeconv.app.api import QuantisedLayer as QuantisedLayer
from edgeconv.app.api import QuantisedModel as QuantisedModel
from edgeconv.app.api import Timing as Timing
from edgeconv.app.api import Verification as Verification
from edgeconv.app.api import compile as compile  # noqa: A004 - edgeconv.compile
from edgeconv.app.api import load as load
from edgeconv.app.api import quantise as quantise

__version__: str
