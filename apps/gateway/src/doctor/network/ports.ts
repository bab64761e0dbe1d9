import { request } from 'node:http'
import { connect } from 'node:net'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps, Outside } from '../deps.ts'
import { findAddresses, listOwnHosts } from './hosts.ts'

const patienceMs = 5_000
const openFix = 'Open TCP port 443 in the firewall and the router, and let the proxy listen on it for this address.'

/** Whether each public address takes connections: peers choose any of them. */
export async function checkPorts(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const { outside } = deps
  const [host = ''] = listOwnHosts(deps)
  const found = await Promise.all((['A', 'AAAA'] as const).map(family => findAddresses(host, family, outside)))
  const addresses = found.flatMap(each => each ?? [])
  if (addresses.length === 0) return [skip(host, 'it has no address; see network.dns')]
  return Promise.all(addresses.map(address => checkPort(address, outside)))
}

async function checkPort(address: string, { locate }: Outside): Promise<CheckOutcome> {
  const subject = address.includes(':') ? `[${address}]:443` : `${address}:443`
  try {
    await tryConnect(locate(address, 443))
    return about(subject, ok(`${subject} takes connections`))
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (address.includes(':') && (code === 'ENETUNREACH' || code === 'EHOSTUNREACH' || code === 'EADDRNOTAVAIL'))
      return skip(subject, 'this machine has no IPv6 to try it with')
    return about(subject, failure(`${subject} takes no connections: ${describeError(error)}`, openFix))
  }
}

function tryConnect(place: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(place)
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })
}

/** Port 80 redirects to https, or is closed: what is served there can be read and changed on its way. */
export async function checkPlainHttp(deps: DoctorDeps): Promise<CheckOutcome> {
  const [host = ''] = listOwnHosts(deps)
  const subject = `http://${host}/`
  const fix = `Let the proxy redirect ${subject} to https://${host}/ (308), or close port 80.`
  const answer = await askPlainly(host, deps.outside)
  if (answer === 'nowhere') return skip(subject, 'it has no address; see network.dns')
  if (answer === 'closed') return about(subject, ok('port 80 is closed'))
  const leadsToTls = answer.location?.toLowerCase().startsWith('https://') === true
  if (answer.status >= 300 && answer.status < 400 && leadsToTls) return about(subject, ok('port 80 redirects to https'))
  return answer.status < 400
    ? about(subject, warning(`port 80 answers ${answer.status} without TLS`, fix))
    : about(subject, ok(`port 80 answers ${answer.status}`))
}

interface PlainAnswer {
  readonly status: number
  readonly location: string | undefined
}

/** `nowhere`: the host has no address. `closed`: nobody answers there. */
function askPlainly(host: string, { locate }: Outside): Promise<PlainAnswer | 'nowhere' | 'closed'> {
  return new Promise(resolve => {
    const asked = request({ ...locate(host, 80), path: '/', headers: { host }, agent: false }, answer => {
      resolve({ status: answer.statusCode ?? 0, location: answer.headers.location })
      answer.destroy()
    })
    asked.setTimeout(patienceMs, () => asked.destroy())
    asked.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ENOTFOUND' ? 'nowhere' : 'closed'))
    asked.end()
  })
}
