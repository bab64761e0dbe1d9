// Passes requests of the A2A compatibility kit on to a gateway.
import { createServer, request as forward } from 'node:http'

/**
 * Stands in front of a gateway for clients that cannot resolve its https origin to this machine. It replaces the origin by its own address
 * in cards. `node front.ts <listen port> <gateway port> <origin>`
 */
const [listenPort = '9999', gatewayPort = '8787', origin = 'https://agents.example'] = process.argv.slice(2)
const ownOrigin = `http://127.0.0.1:${listenPort}`

createServer((incoming, outgoing) => {
  const { url = '/', method, headers } = incoming
  const onward = forward({ host: '127.0.0.1', port: gatewayPort, path: url, method, headers }, async answer => {
    const { 'content-length': _, ...otherHeaders } = answer.headers
    const status = answer.statusCode ?? 502
    if (!/agent-card|agent\.json/.test(url)) {
      outgoing.writeHead(status, answer.headers)
      return void answer.pipe(outgoing)
    }
    let text = ''
    for await (const chunk of answer) text += chunk
    outgoing.writeHead(status, otherHeaders).end(text.replaceAll(origin, ownOrigin))
  })
  onward.on('error', () => outgoing.destroy())
  outgoing.on('close', () => onward.destroy())
  incoming.pipe(onward)
}).listen(Number(listenPort), '127.0.0.1')
