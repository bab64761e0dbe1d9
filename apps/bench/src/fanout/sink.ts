import { createServer } from 'node:http'
import { serveMeasured } from '../servers/child.ts'
import { listenOnFreePort } from '../servers/loopback.ts'

/** All the inboxes: they count what comes signed, and look no further. */
await serveMeasured(async () => {
  let taken = 0
  const server = createServer((request, response) => {
    if (request.headers.signature) taken++
    request.resume()
    response.writeHead(request.headers.signature ? 202 : 401).end()
  })
  return { port: await listenOnFreePort(server), handled: () => taken }
})
