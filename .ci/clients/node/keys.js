// Reads the keys that every client writes.
'use strict'

const { readFileSync } = require('node:fs')

// read returns the keys of an ndjson file by index; null is the null key.
exports.read = name =>
  readFileSync(name, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line).hex)
    .map(hex => (hex === null ? null : Buffer.from(hex, 'hex')))
