package com.example;

/** Has no constructor without parameters. */
public class ArgumentPartitioner extends Murmur2Partitioner {
    public ArgumentPartitioner(int salt) {}
}
