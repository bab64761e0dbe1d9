// Checks the way from the internet to the gateway: DNS, ports, and the proxy in front.
import { request } from 'node:http'
import { connect } from 'node:net'
import { isPublicAddress } from '@postern/http'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps, DoctorNetwork } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import { listOwnHosts, resolveIpAddresses } from '../network/hosts.ts'
import {
  checkBodySize,
  checkClientAddress,
  checkHostHeader,
  checkOrigin,
  checkSameGateway,
  checkStreaming,
} from '../network/origin.ts'
import type { CheckOutcome } from '../report.ts'

/** The checks of the network, as far as this machine can see it. */
export const networkChecks: readonly Check[] = [
  {
    id: 'network.dns',
    description: 'The hosts of `origin` and `handle_host` have A or AAAA records, and these are public.',
    fix: 'Publish an A record (and AAAA for IPv6) with the public address of the server.',
    needs: ['outside'],
    run: checkAddresses,
  },
  {
    id: 'network.ports',
    description: 'Each public address takes connections on port 443.',
    fix: 'Open TCP port 443 in the firewall and the router.',
    needs: ['outside'],
    run: checkPorts,
  },
  {
    id: 'network.plain_http',
    description: 'Port 80 redirects to https, or is closed.',
    fix: 'Let the proxy redirect to https (308).',
    needs: ['outside'],
    run: checkPlainHttp,
  },
  {
    id: 'network.origin',
    description: '`origin` reaches a gateway.',
    fix: 'Check DNS, TLS and the reverse proxy.',
    needs: ['outside', 'running'],
    run: checkOrigin,
  },
  {
    id: 'network.same_gateway',
    description: '`origin` reaches this gateway and no other.',
    fix: 'Let the proxy pass the origin on to this gateway alone.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkSameGateway,
  },
  {
    id: 'network.client_address',
    description: 'The proxy says who its clients are, and clients cannot say so themselves.',
    fix: 'Let the proxy send `X-Forwarded-For`, and name only your proxies in `network.trusted_proxies`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkClientAddress,
  },
  {
    id: 'network.host_header',
    description: 'The proxy leaves the `Host` field as it is.',
    fix: 'In nginx: `proxy_set_header Host $host;`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkHostHeader,
  },
  {
    id: 'network.body_size',
    description: 'The proxy passes on bodies of 1.5 MB.',
    fix: 'In nginx: `client_max_body_size 30m;`.',
    needs: ['gateway', 'outside', 'peers'],
    timeoutMs: 20_000,
    run: checkBodySize,
  },
  {
    id: 'network.streaming',
    description: 'The proxy passes streams on as they come.',
    fix: 'In nginx: `proxy_buffering off;`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkStreaming,
  },
]

/** Checks that the hosts of the gateway have public addresses. */
async function checkAddresses(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  return Promise.all(
    listOwnHosts(deps).map(async host => {
      const [a, aaaa] = await resolveIpAddresses(host, deps.network)
      return outcomeFor(host, judgeAddresses(host, a, aaaa))
    }),
  )
}

function judgeAddresses(host: string, a: readonly string[] | undefined, aaaa: readonly string[] | undefined): Verdict {
  const fix = `Publish an A record for ${host} (and AAAA for IPv6) with the public address of your server.`
  if (a === undefined && aaaa === undefined)
    return failure(`the name servers of ${host} do not answer`, 'Repair the name servers of the domain.')
  const addresses = [...(a ?? []), ...(aaaa ?? [])]
  if (addresses.length === 0) return failure(`${host} has no address, so nobody can reach it`, fix)
  const privateAddresses = addresses.filter(address => !isPublicAddress(address))
  if (privateAddresses.length > 0)
    return failure(`${host} leads to ${privateAddresses.join(', ')}, which peers cannot reach`, fix)
  return a?.length === 0
    ? warning(`${host} has IPv6 addresses only: many peers have none`, `Publish an A record for ${host}.`)
    : ok(`${host} leads to ${addresses.join(', ')}`)
}

const connectTimeoutMs = 5_000
const openFix = 'Open TCP port 443 in the firewall and the router, and let the proxy listen on it for this address.'

/** Checks that each public address accepts connections, because peers may choose any of them. */
async function checkPorts(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const { network } = deps
  const [host = ''] = listOwnHosts(deps)
  const addressesByFamily = await resolveIpAddresses(host, network)
  const addresses = addressesByFamily.flatMap(familyAddresses => familyAddresses ?? [])
  if (addresses.length === 0) return [skip(host, 'it has no address; see network.dns')]
  return Promise.all(addresses.map(address => checkPort(address, network)))
}

async function checkPort(address: string, { locate }: DoctorNetwork): Promise<CheckOutcome> {
  const subject = address.includes(':') ? `[${address}]:443` : `${address}:443`
  try {
    await tryConnect(locate(address, 443))
    return outcomeFor(subject, ok(`${subject} takes connections`))
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (address.includes(':') && (code === 'ENETUNREACH' || code === 'EHOSTUNREACH' || code === 'EADDRNOTAVAIL'))
      return skip(subject, 'this machine has no IPv6, so it cannot try')
    return outcomeFor(subject, failure(`${subject} takes no connections: ${describeError(error)}`, openFix))
  }
}

function tryConnect(target: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(target)
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
  })
}

/** Checks that port 80 redirects to https or is closed, because others can read and change plain HTTP. */
async function checkPlainHttp(deps: DoctorDeps): Promise<CheckOutcome> {
  const [host = ''] = listOwnHosts(deps)
  const subject = `http://${host}/`
  const fix = `Let the proxy redirect ${subject} to https://${host}/ (308), or close port 80.`
  const response = await requestPlainHttp(host, deps.network)
  if (response === 'no_address') return skip(subject, 'it has no address; see network.dns')
  if (response === 'closed') return outcomeFor(subject, ok('port 80 is closed'))
  const leadsToTls = response.location?.toLowerCase().startsWith('https://') === true
  if (response.status >= 300 && response.status < 400 && leadsToTls)
    return outcomeFor(subject, ok('port 80 redirects to https'))
  return response.status < 400
    ? outcomeFor(subject, warning(`port 80 answers ${response.status} without TLS`, fix))
    : outcomeFor(subject, ok(`port 80 answers ${response.status}`))
}

interface PlainHttpResponse {
  readonly status: number
  readonly location: string | undefined
}

/** Sends a request without TLS. Returns `no_address` if the host has no address, and `closed` if nothing answers. */
function requestPlainHttp(
  host: string,
  { locate }: DoctorNetwork,
): Promise<PlainHttpResponse | 'no_address' | 'closed'> {
  return new Promise(resolve => {
    const plainRequest = request({ ...locate(host, 80), path: '/', headers: { host }, agent: false }, response => {
      resolve({ status: response.statusCode ?? 0, location: response.headers.location })
      response.destroy()
    })
    plainRequest.setTimeout(connectTimeoutMs, () => plainRequest.destroy())
    plainRequest.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ENOTFOUND' ? 'no_address' : 'closed'),
    )
    plainRequest.end()
  })
}
