// Checks the proxy in front of the gateway, by requests of the gateway to its own public address.
import { isPublicAddress } from '@postern/http'
import type { FetchRequest } from '@postern/message'
import { isPostgresUrl } from '@postern/store'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'
import type { ExpectedVisit, SelfVisit } from './visits.ts'

const routeFix = 'Check DNS, TLS and the reverse proxy in front of the gateway.'

/** Checks that the public address leads to a gateway. */
export async function checkOrigin({ config, network }: DoctorDeps): Promise<CheckOutcome> {
  const { origin } = config
  try {
    const { status } = await network.fetch(`${origin}/healthz`, { timeoutMs: 8_000 })
    return status === 200
      ? outcomeFor(origin, ok(`${origin} reaches a gateway`))
      : outcomeFor(origin, failure(`${origin}/healthz answers ${status}`, routeFix))
  } catch (error) {
    return outcomeFor(origin, failure(`${origin} does not reach the gateway: ${describeError(error)}`, routeFix))
  }
}

/** Checks that the public address leads to this gateway and not to another one. */
export async function checkSameGateway(deps: DoctorDeps): Promise<CheckOutcome> {
  const { origin, store } = deps.config
  const visit = await requestOwnOrigin(deps, {})
  if (visit) return outcomeFor(origin, ok(`${origin} reaches this gateway`))
  if (isPostgresUrl(store)) return skip(origin, 'another gateway on the same database may have answered')
  return outcomeFor(
    origin,
    failure(`${origin} does not reach this gateway`, `Let the proxy pass ${origin} on to this gateway alone.`),
  )
}

/** An address of the range for documentation (RFC 5737), which nobody has. */
const claimedAddress = '198.51.100.66'

/** Checks that the gateway learns its clients’ addresses, and accepts them only from the proxy. */
export async function checkClientAddress(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'X-Forwarded-For'
  const visit = await requestOwnOrigin(deps, { headers: { 'x-forwarded-for': claimedAddress } })
  if (!visit) return skip(subject, 'the request did not come back; see network.same_gateway')
  if (visit.client === claimedAddress)
    return outcomeFor(
      subject,
      failure(
        'clients can choose their own address, so no limit holds',
        'Name only your proxies in network.trusted_proxies, and let them add the address of the client.',
      ),
    )
  if (!visit.isForwarded && !isPublicAddress(visit.peer))
    return outcomeFor(
      subject,
      warning(
        'the proxy does not pass on its clients’ addresses, so all share one rate limit',
        'Let it send X-Forwarded-For, in nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
      ),
    )
  return outcomeFor(subject, ok(`the gateway takes ${visit.client} for the client of its own request`))
}

/** Checks that the proxy keeps the `Host` field, which peers have signed. */
export async function checkHostHeader(deps: DoctorDeps): Promise<CheckOutcome> {
  const { host } = new URL(deps.config.origin)
  const visit = await requestOwnOrigin(deps, {})
  if (!visit) return skip('Host', 'the request did not come back; see network.same_gateway')
  return outcomeFor(
    'Host',
    visit.host === host
      ? ok(`the proxy passes the name ${host} on`)
      : warning(
          `the proxy changes the Host field of requests to ${visit.host || 'nothing'}`,
          'Let it pass the field on, in nginx: proxy_set_header Host $host;',
        ),
  )
}

/** The size of a large body, which exceeds one megabyte, the default limit of nginx. */
const bodyBytes = 1_500_000

/** Checks that the proxy passes on large bodies, such as those with a picture. */
export async function checkBodySize(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'bodies'
  const headers = { 'content-type': 'application/octet-stream' }
  const visit = await requestOwnOrigin(deps, { method: 'POST', headers, body: new Uint8Array(bodyBytes) })
  if (visit?.bodyBytes === bodyBytes) return outcomeFor(subject, ok('the proxy passes on bodies of 1.5 MB'))
  if (!visit && !(await requestOwnOrigin(deps, {})))
    return skip(subject, 'the request did not come back; see network.same_gateway')
  const fix = 'Let the proxy take larger ones, in nginx: client_max_body_size 30m;'
  return outcomeFor(subject, failure('the proxy does not pass on a body of 1.5 MB', fix))
}

/** Checks that the proxy does not buffer streams of chats and A2A. */
export async function checkStreaming(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'streams'
  const { network, config } = deps
  const visit = requireOpened(deps).visits.expect()
  const stopReading = new AbortController()
  const limits = { timeoutMs: 8_000, idleMs: 8_000, signal: stopReading.signal }
  try {
    const response = await network.openStream(`${config.origin}${visit.path}/stream`, limits)
    if (response.status !== 200) return skip(subject, 'the request did not come back; see network.same_gateway')
    return outcomeFor(subject, await judgeStream(response.body, visit))
  } catch (error) {
    return skip(subject, `nothing could be streamed: ${describeError(error)}`)
  } finally {
    visit.end()
    stopReading.abort()
  }
}

/** Judges a stream. The second event is sent only after the first one has arrived, so only a buffering proxy delivers both together. */
async function judgeStream(body: AsyncIterable<Uint8Array>, visit: ExpectedVisit) {
  for await (const chunk of body) {
    const text = Buffer.from(chunk).toString()
    visit.release()
    if (text.includes('last')) {
      const fix = 'Let it pass streams on as they come, in nginx: proxy_buffering off;'
      return warning('the proxy buffers streams until they end, so chats show nothing meanwhile', fix)
    }
    if (text.includes('first')) return ok('the proxy passes streams on as they come')
  }
  return failure('the proxy cuts streams off', 'See the log of the proxy.')
}

/** Sends a request to the public address of the gateway. Returns the request as it arrived, or undefined if it did not arrive. */
async function requestOwnOrigin(
  deps: DoctorDeps,
  request: Pick<FetchRequest, 'method' | 'headers' | 'body'>,
): Promise<SelfVisit | undefined> {
  const visit = requireOpened(deps).visits.expect()
  try {
    await deps.network.fetch(`${deps.config.origin}${visit.path}`, { ...request, timeoutMs: 8_000 })
    return visit.findRequest()
  } catch {
    return visit.findRequest()
  } finally {
    visit.end()
  }
}
