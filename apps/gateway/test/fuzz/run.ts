// Sends cases to a server, and collects its faults.
import type { FuzzCase } from './cases/case.ts'
import type { Endpoint } from './cases/endpoints.ts'
import { listEndpoints } from './cases/endpoints.ts'
import { createKnownIds } from './cases/known-ids.ts'
import { makeCase } from './cases/make.ts'
import { readSeeds } from './cases/seeds.ts'
import type { FuzzOptions } from './options.ts'
import type { FuzzAnswer } from './send/answer.ts'
import { sendGrpc } from './send/grpc.ts'
import { sendHttp } from './send/http.ts'
import { sendMail } from './send/mail.ts'
import type { Credentials } from './target/credentials.ts'
import type { FuzzTarget } from './target/open.ts'
import { createRandom } from './values/random.ts'
import type { FairClock } from './watch/fair-clock.ts'
import { openFairClock, sleep } from './watch/fair-clock.ts'
import type { FuzzFinding } from './watch/findings.ts'
import { createFuzzFindings } from './watch/findings.ts'
import { watchStalls } from './watch/stalls.ts'

export interface FuzzReport {
  readonly sentCount: number
  readonly endpoints: number
  /** The number of answers with each status. */
  readonly statuses: ReadonlyMap<string, number>
  readonly findings: readonly FuzzFinding[]
}

interface FuzzGateway {
  readonly target: FuzzTarget
  readonly credentials: Credentials
}

const atOnce = 6
/** The longest wait for an answer, in ms of the fair clock. */
const patienceMs = 20_000

/** Sends odd requests for a while, or only the given cases, and watches the server. */
export async function runFuzz(
  { target, credentials }: FuzzGateway,
  { seed, durationSeconds, endpointFilter = '' }: Pick<FuzzOptions, 'seed' | 'durationSeconds' | 'endpointFilter'>,
  repeated?: readonly FuzzCase[],
): Promise<FuzzReport> {
  const seeds = readSeeds()
  const endpoints = listEndpoints(target, seeds).filter(({ name }) => name.includes(endpointFilter))
  if (endpoints.length === 0) throw new TypeError(`no endpoint has "${endpointFilter}" in its name`)
  const ids = createKnownIds()
  const findings = createFuzzFindings()
  const clock = await openFairClock()
  const runAbort = new AbortController()
  const statuses = new Map<string, number>()
  const deadline = Date.now() + durationSeconds * 1000
  let sentCount = 0
  target.onTrouble(text => findings.add(text))
  const watching = watchStalls(
    target,
    clock,
    () => findings.add('it did not answer /healthz for too long'),
    runAbort.signal,
  )

  function next(): FuzzCase | undefined {
    if (target.hasEnded()) return undefined
    const index = sentCount++
    if (repeated) return repeated[index]
    if (Date.now() > deadline) return undefined
    const random = createRandom(seed, index)
    return makeCase(random.pick(weigh(endpoints)), random, { seeds, ids: ids.list, now: Date.now() })
  }

  async function work(): Promise<void> {
    for (let fuzzCase = next(); fuzzCase; fuzzCase = next()) {
      findings.begin(fuzzCase)
      const answer = await answerTo(fuzzCase, { target, credentials, clock })
      const kind = `${fuzzCase.kind} ${answer.status ?? 'closed'}`
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1)
      if (answer.fault && !target.hasEnded()) findings.add(answer.fault, fuzzCase)
      ids.learn(answer.text)
      findings.endCase(fuzzCase)
    }
  }

  const workers = repeated ? 1 : atOnce
  await Promise.all(Array.from({ length: workers }, work))
  // The gateway may still be working on messages that it accepted.
  await sleep(1_000)
  runAbort.abort()
  await watching
  clock.close()
  return { sentCount, endpoints: endpoints.length, statuses, findings: findings.list }
}

/** Repeats each endpoint by its weight, so that mail and endpoints with more seeds are drawn more often. */
function weigh(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.flatMap(endpoint => {
    const weight = endpoint.kind === 'mail' ? 10 : Math.min(4, 1 + (endpoint.seeds?.length ?? 0))
    return Array.from({ length: weight }, () => endpoint)
  })
}

async function answerTo(fuzzCase: FuzzCase, gateway: FuzzGateway & { readonly clock: FairClock }): Promise<FuzzAnswer> {
  const settled = new AbortController()
  const late = new AbortController()
  gateway.clock.expire(patienceMs, settled.signal).catch(() => {
    if (!settled.signal.aborted) late.abort()
  })
  try {
    return await sendCase(fuzzCase, gateway, late.signal)
  } catch (error) {
    return { status: undefined, text: '', fault: late.signal.aborted ? 'it never answered' : String(error) }
  } finally {
    settled.abort()
  }
}

async function sendCase(
  fuzzCase: FuzzCase,
  { target, credentials }: FuzzGateway,
  signal: AbortSignal,
): Promise<FuzzAnswer> {
  if (fuzzCase.kind === 'mail') return sendMail(target.smtp ?? 0, fuzzCase, signal)
  if (fuzzCase.kind === 'grpc') {
    return sendGrpc(target.grpc ?? 0, fuzzCase, await credentials(fuzzCase.credential), signal)
  }
  return sendHttp(target.http, fuzzCase, await credentials(fuzzCase.credential, fuzzCase), signal)
}
