// Writes keys with @platformatic/kafka. PARTITIONER: default (none configured), compatibility.
'use strict'

// what the client takes from Node 22, for those with an older one
Promise.withResolvers ??= function () {
  const made = {}
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

const { Producer, compatibilityPartitioner } = require('@platformatic/kafka')
const keys = require('./keys.js')

async function main([broker, topic, keysFile, partitioner]) {
  const partitioners = { default: undefined, compatibility: compatibilityPartitioner }
  if (!(partitioner in partitioners)) {
    throw new Error(`unknown partitioner ${partitioner}`)
  }
  const options = { clientId: 'keyspread-test', bootstrapBrokers: [broker] }
  if (partitioners[partitioner] !== undefined) {
    options.partitioner = partitioners[partitioner]
  }
  const producer = new Producer(options)
  await producer.send({
    acks: -1,
    messages: keys.read(keysFile).map((key, i) => {
      const message = { topic, value: Buffer.from(String(i)) }
      if (key !== null) {
        message.key = key
      }
      return message
    })
  })
  await producer.close()
}

main(process.argv.slice(2)).catch(error => {
  console.error(error)
  process.exit(1)
})
