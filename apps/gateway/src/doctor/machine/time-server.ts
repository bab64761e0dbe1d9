import { createSocket } from 'node:dgram'

const patienceMs = 3_000
/** Seconds between 1900, where NTP counts from, and 1970. */
const epochSeconds = 2_208_988_800

interface TimeServer {
  readonly host: string
  readonly port: number
}

/** How much the clock of this machine is ahead of a time server's, ms; undefined when that does not answer (RFC 4330). */
export function askTimeServer({ host, port }: TimeServer, now: () => number): Promise<number | undefined> {
  const socket = createSocket('udp4')
  const request = Buffer.alloc(48)
  request[0] = 0x23
  return new Promise(resolve => {
    const end = (offset?: number) => {
      clearTimeout(timer)
      socket.close()
      resolve(offset)
    }
    const timer = setTimeout(end, patienceMs)
    const asked = now()
    socket.once('error', () => end())
    socket.once('message', answer => {
      if (answer.length < 48 || answer.readUInt32BE(40) === 0) return end()
      const theirs = (answer.readUInt32BE(40) - epochSeconds + answer.readUInt32BE(44) / 2 ** 32) * 1000
      end(Math.round((asked + now()) / 2 - theirs))
    })
    socket.send(request, port, host, error => error && end())
  })
}
