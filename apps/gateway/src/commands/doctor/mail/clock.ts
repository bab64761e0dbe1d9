import { createSocket } from 'node:dgram'
import type { Verdict } from '../../../checks/finding.ts'
import { failure, ok, warning } from '../../../checks/finding.ts'

const patienceMs = 3_000
/** Seconds between 1900, where NTP counts from, and 1970. */
const epochSeconds = 2_208_988_800
/** A signature from the future is refused by receivers; so much is forgiven everywhere. */
const toleranceMs = 60_000

/** How much the clock of this machine is ahead of a time server's, ms; undefined when that does not answer (RFC 4330). */
export function askClock(host: string, now: () => number, port = 123): Promise<number | undefined> {
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

/** Signatures carry the time (DKIM `t=`), and so do signed webhooks. */
export function judgeClock(offset: number | undefined): Verdict {
  const fix = 'Let the machine keep its time by NTP (systemd-timesyncd or chrony).'
  if (offset === undefined) return warning('no time server answered: the clock could not be compared', fix)
  const seconds = Math.abs(offset / 1000).toFixed(1)
  if (Math.abs(offset) <= toleranceMs) return ok(`the clock is right to ${seconds} s`)
  return failure(`the clock is ${seconds} s ${offset > 0 ? 'fast' : 'slow'}: receivers refuse signatures`, fix)
}
