from kernelease.bundle.saving import load_measurements as load_measurements, read as read, write as write
