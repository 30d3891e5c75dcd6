module judge

go 1.19

require github.com/anishathalye/porcupine v0.0.0

replace github.com/anishathalye/porcupine => ../../.build/porcupine
