import type { FetchRequest } from '@postern/core'
import { isPublicAddress } from '@postern/http'
import { isPostgresUrl } from '@postern/store'
import { failure, ok, warning } from '../../checks/finding.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'
import type { ExpectedVisit, SelfVisit } from './visits.ts'

const routeFix = 'Check DNS, TLS and the reverse proxy in front of the gateway.'

/** Whether the public address leads to a gateway at all. */
export async function checkOrigin({ config, outside }: DoctorDeps): Promise<CheckOutcome> {
  const { origin } = config
  try {
    const { status } = await outside.fetch(`${origin}/healthz`, { timeoutMs: 8_000 })
    return status === 200
      ? about(origin, ok(`${origin} reaches a gateway`))
      : about(origin, failure(`${origin}/healthz answers ${status}`, routeFix))
  } catch (error) {
    return about(origin, failure(`${origin} does not reach the gateway: ${describeError(error)}`, routeFix))
  }
}

/** Whether it leads to this gateway, and not to another that answers in its place. */
export async function checkSameGateway(deps: DoctorDeps): Promise<CheckOutcome> {
  const { origin, store } = deps.config
  const visit = await visitOurselves(deps, {})
  if (visit) return about(origin, ok(`${origin} reaches this gateway`))
  if (isPostgresUrl(store)) return skip(origin, 'another gateway on the same database may have answered')
  return about(
    origin,
    failure(`${origin} does not reach this gateway`, `Let the proxy pass ${origin} on to this gateway alone.`),
  )
}

/** An address of the range for documentation (RFC 5737): nobody has it. */
const claimedAddress = '198.51.100.66'

/** Whether the gateway learns who its clients are, and believes the proxy alone. */
export async function checkClientAddress(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'X-Forwarded-For'
  const visit = await visitOurselves(deps, { headers: { 'x-forwarded-for': claimedAddress } })
  if (!visit) return skip(subject, 'the request did not come back; see network.same_gateway')
  if (visit.client === claimedAddress)
    return about(
      subject,
      failure(
        'the gateway believes what clients say their address is: nobody can be limited',
        'Name only your proxies in network.trusted_proxies, and let them add the address of the client.',
      ),
    )
  if (!visit.isForwarded && !isPublicAddress(visit.peer))
    return about(
      subject,
      warning(
        'the proxy does not say who its clients are: all share one rate limit',
        'Let it send X-Forwarded-For, in nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
      ),
    )
  return about(subject, ok(`the gateway takes ${visit.client} for the client of its own request`))
}

/** Whether the proxy leaves the name of the host as it is, which peers have signed. */
export async function checkHostHeader(deps: DoctorDeps): Promise<CheckOutcome> {
  const { host } = new URL(deps.config.origin)
  const visit = await visitOurselves(deps, {})
  if (!visit) return skip('Host', 'the request did not come back; see network.same_gateway')
  return about(
    'Host',
    visit.host === host
      ? ok(`the proxy passes the name ${host} on`)
      : warning(
          `the proxy changes the Host field of requests to ${visit.host || 'nothing'}`,
          'Let it pass the field on, in nginx: proxy_set_header Host $host;',
        ),
  )
}

/** More than the megabyte that nginx passes on unless it is told otherwise. */
const bodyBytes = 1_500_000

/** Whether the proxy passes on bodies with a picture in them. */
export async function checkBodySize(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'bodies'
  const headers = { 'content-type': 'application/octet-stream' }
  const visit = await visitOurselves(deps, { method: 'POST', headers, body: new Uint8Array(bodyBytes) })
  if (visit?.bodyBytes === bodyBytes) return about(subject, ok('the proxy passes on bodies of 1.5 MB'))
  if (!visit && !(await visitOurselves(deps, {})))
    return skip(subject, 'the request did not come back; see network.same_gateway')
  const fix = 'Let the proxy take larger ones, in nginx: client_max_body_size 30m;'
  return about(subject, failure('the proxy does not pass on a body of 1.5 MB', fix))
}

/** Whether the proxy passes an answer on as it comes: chats and A2A stream. */
export async function checkStreaming(deps: DoctorDeps): Promise<CheckOutcome> {
  const subject = 'streams'
  const { outside, config } = deps
  const visit = requireOpened(deps).visits.expect()
  try {
    const answer = await outside.openStream(`${config.origin}${visit.path}/stream`, { timeoutMs: 8_000, idleMs: 8_000 })
    if (answer.status !== 200) return skip(subject, 'the request did not come back; see network.same_gateway')
    return about(subject, await judgeStream(answer.body, visit))
  } catch (error) {
    return skip(subject, `nothing could be streamed: ${describeError(error)}`)
  } finally {
    visit.end()
  }
}

/** The stream goes on only when its first event has come, so the events come together only from a proxy that keeps them back. */
async function judgeStream(body: AsyncIterable<Uint8Array>, visit: ExpectedVisit) {
  for await (const piece of body) {
    const text = Buffer.from(piece).toString()
    visit.release()
    if (text.includes('last')) {
      const fix = 'Let it pass streams on as they come, in nginx: proxy_buffering off;'
      return warning('the proxy keeps streams back until they end: chats show nothing meanwhile', fix)
    }
    if (text.includes('first')) return ok('the proxy passes streams on as they come')
  }
  return failure('the proxy cuts streams off', 'Look into the log of the proxy.')
}

/** A request to ourselves by the public address, as it came back; undefined when it did not. */
async function visitOurselves(
  deps: DoctorDeps,
  request: Pick<FetchRequest, 'method' | 'headers' | 'body'>,
): Promise<SelfVisit | undefined> {
  const visit = requireOpened(deps).visits.expect()
  try {
    await deps.outside.fetch(`${deps.config.origin}${visit.path}`, { ...request, timeoutMs: 8_000 })
    return visit.seen()
  } catch {
    return visit.seen()
  } finally {
    visit.end()
  }
}
