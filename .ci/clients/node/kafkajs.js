// Writes keys with kafkajs. PARTITIONER: default (none configured), legacy, java-compatible.
'use strict'

const { Kafka, Partitioners, logLevel } = require('kafkajs')
const keys = require('./keys.js')

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'

async function main([broker, topic, keysFile, partitioner]) {
  const partitioners = {
    default: undefined,
    legacy: Partitioners.LegacyPartitioner,
    'java-compatible': Partitioners.JavaCompatiblePartitioner
  }
  if (!(partitioner in partitioners)) {
    throw new Error(`unknown partitioner ${partitioner}`)
  }
  const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR })
  const producer = kafka.producer({ createPartitioner: partitioners[partitioner] })
  await producer.connect()
  await producer.send({
    topic,
    acks: -1,
    messages: keys.read(keysFile).map((key, i) => ({ key, value: String(i) }))
  })
  await producer.disconnect()
}

main(process.argv.slice(2)).catch(error => {
  console.error(error)
  process.exit(1)
})
