import os
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

__version__: str
__all__: List[str]

_Path = Union[str, "os.PathLike[str]"]
# A path, the bytes of a file, uint8 [height, width, 3], [height, width, 4] or [height, width], or an image of PIL.
_Image = Union[_Path, bytes, bytearray, memoryview, npt.NDArray[np.uint8], Any]
_Images = Union[List[_Image], Tuple[_Image, ...]]
_Class = Union[int, str]
_Region = Tuple[int, int, int, int]  # x, y, width, height in pixels of the full image

class Error(Exception): ...
class UsageError(Error): ...

class ClassScore:
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> Optional[str]: ...
    @property
    def probability(self) -> float: ...
    @property
    def logit(self) -> float: ...

class Classification:
    @property
    def classes(self) -> List[ClassScore]: ...
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> Optional[str]: ...
    @property
    def probability(self) -> float: ...

class Evidence:
    @property
    def about(self) -> ClassScore: ...
    @property
    def against(self) -> Optional[ClassScore]: ...
    @property
    def map(self) -> npt.NDArray[np.float32]: ...

class Attention:
    @property
    def layer(self) -> int: ...
    @property
    def head(self) -> Optional[int]: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def map(self) -> npt.NDArray[np.float32]: ...

class Segmentation:
    @property
    def labels(self) -> npt.NDArray[np.uint8]: ...
    @property
    def shares(self) -> List[Tuple[int, Optional[str], float]]: ...

class Detection:
    @property
    def box(self) -> Tuple[float, float, float, float]: ...
    @property
    def label(self) -> int: ...
    @property
    def name(self) -> Optional[str]: ...
    @property
    def score(self) -> float: ...
    @property
    def area(self) -> int: ...
    @property
    def mask(self) -> npt.NDArray[np.bool_]: ...
    @property
    def rle(self) -> Dict[str, Any]: ...

class Session:
    @property
    def input(self) -> npt.NDArray[np.float32]: ...
    @property
    def output_names(self) -> List[str]: ...
    def run(self, images: Optional[int] = None) -> None: ...
    def output(self, name: str = "logits") -> npt.NDArray[np.float32]: ...

class Model:
    @property
    def task(self) -> Literal["classify", "segment", "detect"]: ...
    @property
    def arch(self) -> str: ...
    @property
    def classes(self) -> List[str]: ...
    @property
    def class_count(self) -> int: ...
    @property
    def size(self) -> int: ...
    @overload
    def __call__(self, x: _Images, *, skip_errors: bool = False) -> List[Any]: ...
    @overload
    def __call__(self, x: _Image, *, skip_errors: bool = False) -> Any: ...
    @overload
    def classify(
        self, x: _Images, *, top: int = 5, size: int = 0, skip_errors: Literal[False] = False
    ) -> List[Classification]: ...
    @overload
    def classify(
        self, x: _Images, *, top: int = 5, size: int = 0, skip_errors: bool
    ) -> List[Union[Classification, Error]]: ...
    @overload
    def classify(
        self, x: _Image, *, top: int = 5, size: int = 0, skip_errors: bool = False
    ) -> Classification: ...
    @overload
    def embed(
        self, x: _Images, *, map: bool = False, size: int = 0, skip_errors: Literal[False] = False
    ) -> List[npt.NDArray[np.float32]]: ...
    @overload
    def embed(
        self, x: _Images, *, map: bool = False, size: int = 0, skip_errors: bool
    ) -> List[Union[npt.NDArray[np.float32], Error]]: ...
    @overload
    def embed(
        self, x: _Image, *, map: bool = False, size: int = 0, skip_errors: bool = False
    ) -> npt.NDArray[np.float32]: ...
    @overload
    def segment(self, x: _Images, *, skip_errors: bool = False) -> List[Segmentation]: ...
    @overload
    def segment(
        self,
        x: _Image,
        *,
        region: Optional[_Region] = None,
        level: Optional[int] = None,
        mpp: Optional[float] = None,
        window: Optional[int] = None,
        overlap: Optional[int] = None,
        skip_background: bool = False,
        out: Optional[_Path] = None,
        skip_errors: bool = False,
    ) -> Segmentation: ...
    @overload
    def detect(
        self, x: _Images, *, score: float = 0.3, skip_errors: bool = False
    ) -> List[List[Detection]]: ...
    @overload
    def detect(
        self, x: _Image, *, score: float = 0.3, skip_errors: bool = False
    ) -> List[Detection]: ...
    def explain(
        self,
        x: Union[_Image, _Images],
        *,
        about: Optional[_Class] = None,
        against: Optional[_Class] = None,
        at: Optional[Tuple[float, float]] = None,
        layer: Optional[int] = None,
        head: Optional[int] = None,
        size: int = 0,
        skip_errors: bool = False,
    ) -> Any: ...
    def session(self, height: int, width: int, batch: int = 1) -> Session: ...

def windows(
    file: _Path,
    window: int,
    *,
    overlap: int = 0,
    region: Optional[_Region] = None,
    level: Optional[int] = None,
    skip_background: bool = False,
) -> Iterator[Tuple[float, float, npt.NDArray[np.uint8]]]: ...
def load(
    file: Optional[Union[_Path, bytes]] = None,
    *,
    task: Literal["classify", "segment", "detect"] = "classify",
    arch: str = "",
    size: int = 0,
    batch: int = 0,
    threads: int = 0,
    max_pixels: Optional[int] = None,
    ignore_orientation: bool = False,
    precision: Literal["float32", "int8"] = "float32",
    float_layers: Sequence[str] = ...,
) -> Model: ...

class TrainingRun:
    folder: str
    best: str
    last: str
    log: List[str]
    metrics: List[Dict[str, Any]]
    def __init__(self, folder: _Path, log: Sequence[str] = ()) -> None: ...

def train(
    data: _Path,
    out: _Path,
    *,
    on_line: Optional[Callable[[str], None]] = None,
    program: Optional[_Path] = None,
    **options: Any,
) -> TrainingRun: ...
