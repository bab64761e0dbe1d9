// Accepts mail over SMTP, counts it and drops it.
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { serveMeasured } from '../servers/child.ts'
import { listenOnFreePort } from '../servers/loopback.ts'

const endOfData = '\r\n.\r\n'
let mailCount = 0

/** A smarthost that accepts every mail, counts it and discards it. */
await serveMeasured(async () => ({ port: await listenOnFreePort(createServer(serve)), handled: () => mailCount }))

function serve(socket: Socket): void {
  let pending = ''
  let isData = false
  socket.setNoDelay(true).on('error', () => undefined)
  socket.write('220 sink.test\r\n')
  socket.on('data', chunk => {
    pending += chunk.toString('latin1')
    for (let lineEnd = findEnd(); lineEnd >= 0; lineEnd = findEnd()) {
      const unit = pending.slice(0, lineEnd)
      pending = pending.slice(lineEnd + (isData ? endOfData : '\r\n').length)
      if (isData) mailCount++
      isData = !isData && /^DATA/i.test(unit)
      socket.write(replyTo(unit, isData))
    }
  })
  const findEnd = () => pending.indexOf(isData ? endOfData : '\r\n')
}

function replyTo(command: string, isData: boolean): string {
  if (isData) return '354 go on\r\n'
  return /^EHLO/i.test(command) ? '250-sink.test\r\n250-8BITMIME\r\n250 PIPELINING\r\n' : '250 2.0.0 taken\r\n'
}
