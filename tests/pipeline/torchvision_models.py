#!/usr/bin/env python3
"""The oracle of torchvision_test.cpp: torchvision's own networks with random weights.

  torchvision_models.py shapes OUT       writes OUT/shapes.json: the shapes of all tensors of every classifier
  torchvision_models.py run OUT NAME...  writes OUT/NAME.pth, as torchvision would save it, and
                                         OUT/NAME-expected.pth: "inputN" and "logitsN"

NAME is torchvision's name of a network. NAME:shallow has one or two blocks in each stage, NAME:SIZE of a vision
transformer is made for images of that size.
"""
import json
import sys
import unittest.mock

import torch
import torchvision.models as zoo
from torch import nn

SIZES = {  # of networks made for other images than 224 x 224
    "efficientnet_b1": 240, "efficientnet_b2": 288, "efficientnet_b3": 300, "efficientnet_b4": 380,
    "efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600}


def without_numbers():
    """Makes constructors leave all memory untouched."""
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(nn.init, name, lambda tensor, *_, **__: tensor)
    nn.Linear.reset_parameters = lambda self: None
    nn.modules.conv._ConvNd.reset_parameters = lambda self: None


def randomise(network, seed):
    """Every tensor counts: no norm is the identity, no layer scale, table or token is zero."""
    generator = torch.Generator().manual_seed(seed)
    normal = lambda tensor, std: tensor.normal_(0, std, generator=generator)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if not tensor.is_floating_point():
                continue
            if name.endswith("running_var") or (name.endswith("weight") and tensor.dim() == 1):
                tensor.uniform_(0.5, 1.5, generator=generator)
            elif name.endswith("layer_scale"):
                tensor.uniform_(0.1, 0.5, generator=generator)
            elif tensor.dim() == 1 or name in ("class_token", "encoder.pos_embedding"):
                normal(tensor, 0.2)
            elif name.endswith("relative_position_bias_table"):
                normal(tensor, 1.0)
            else:
                normal(tensor, tensor[0].numel() ** -0.5)


def set_layers(layers):
    def change(arguments, _):
        for setting, count in zip(arguments[0], layers):
            setting.num_layers = count

    return change


def set_regnet(arguments, _):
    arguments[0].depths = [1, 2, 1, 1]


def set_resnet(arguments, _):
    arguments[1] = [1, 2, 1, 1]


# How names begin; the module and the function in it that builds the network; what changes in its arguments.
SHALLOW = (
    (("resnet", "resnext", "wide_resnet"), zoo.resnet, "_resnet", set_resnet),
    (("convnext",), zoo.convnext, "_convnext", set_layers((1, 1, 2, 1))),
    (("swin",), zoo.swin_transformer, "_swin_transformer", lambda _, options: options.update(depths=[2, 2, 2, 2])),
    (("vit",), zoo.vision_transformer, "_vision_transformer", lambda _, options: options.update(num_layers=2)),
    (("regnet",), zoo.regnet, "_regnet", set_regnet),
    (("efficientnet",), zoo.efficientnet, "_efficientnet", set_layers((1, 2, 1, 1, 1, 1, 1))))


def make(name, is_shallow, options):
    if not is_shallow:
        return getattr(zoo, name)(**options)
    module, function, change = next(row[1:] for row in SHALLOW if name.startswith(row[0]))
    original = getattr(module, function)

    def shallower(*arguments, **changed):
        arguments = list(arguments)
        change(arguments, changed)
        return original(*arguments, **changed)

    with unittest.mock.patch.object(module, function, shallower):
        return getattr(zoo, name)(**options)


def run(folder, wanted):
    name, *forms = wanted.split(":")
    size = next((int(form) for form in forms if form.isdigit()), 0)
    network = make(name, "shallow" in forms, {"image_size": size} if size else {}).eval()
    randomise(network, seed=sum(map(ord, wanted)))
    file = f"{folder}/{wanted.replace(':', '-')}"
    torch.save(network.state_dict(), file + ".pth")
    # A vision transformer takes images of one size. Where windows do not fill a map of Swin, torchvision pads it
    # differently from the original code, which ours follows: at 448 they do.
    second = (448, 0) if name.startswith("swin") else (173, 64)
    sizes = ((size or 224, 0),) if name.startswith("vit") else ((SIZES.get(name, 224), 0), second)
    expected = {}
    for number, (height, wider) in enumerate(sizes):
        image = torch.randn(1, 3, height, height + wider, generator=torch.Generator().manual_seed(height))
        with torch.no_grad():
            expected[f"input{number}"] = image
            expected[f"logits{number}"] = network(image)
    torch.save(expected, file + "-expected.pth")


def shapes(folder):
    without_numbers()
    found = {}
    for name in zoo.list_models(module=zoo):
        network = zoo.get_model(name, **({"init_weights": False} if name in ("googlenet", "inception_v3") else {}))
        found[name] = {key: list(tensor.shape) for key, tensor in network.state_dict().items()}
    with open(f"{folder}/shapes.json", "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    torch.set_num_threads(2)
    if sys.argv[1] == "shapes":
        shapes(sys.argv[2])
    else:
        for network_name in sys.argv[3:]:
            run(sys.argv[2], network_name)
