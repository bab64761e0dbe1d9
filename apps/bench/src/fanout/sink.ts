// Accepts signed deliveries to any inbox and counts them.
import { createServer } from 'node:http'
import { serveMeasured } from '../servers/child.ts'
import { listenOnFreePort } from '../servers/loopback.ts'

/** Serves all inboxes, which count signed deliveries and check nothing else. */
await serveMeasured(async () => {
  let deliveryCount = 0
  const server = createServer((request, response) => {
    if (request.headers.signature) deliveryCount++
    request.resume()
    response.writeHead(request.headers.signature ? 202 : 401).end()
  })
  return { port: await listenOnFreePort(server), handled: () => deliveryCount }
})
