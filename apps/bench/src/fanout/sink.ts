import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveMeasured } from '../servers/child.ts'

/** All the inboxes: they count what comes signed, and look no further. */
await serveMeasured(async () => {
  let taken = 0
  const server = createServer((request, response) => {
    if (request.headers.signature) taken++
    request.resume()
    response.writeHead(request.headers.signature ? 202 : 401).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, handled: () => taken }
})
