// Receives the gateway's deliveries to simulated actors, and verifies their signatures.
import type { Arrivals } from '../arrivals.ts'
import { createArrivals } from '../arrivals.ts'
import type { SimAnswer, SimRequest } from '../net/loopback-server.ts'
import { answerJson } from '../net/loopback-server.ts'
import { fediverseHosts } from './actors/persona.ts'
import { coveredComponents } from './signatures/sign.ts'
import type { SignatureChecks } from './signatures/verify.ts'
import { verifySigner } from './signatures/verify.ts'

type ReceivedDocument = Readonly<Record<string, unknown>>

/** An activity that the gateway has delivered to an inbox of the simulated fediverse. */
export interface ReceivedActivity {
  readonly host: string
  /** The path of the inbox. */
  readonly inbox: string
  readonly activity: ReceivedDocument
  /** True if digest, signature and key ownership are valid, and the signer is the activity's actor. */
  readonly verified: boolean
  /** The reason for a failed verification. */
  readonly reason?: string | undefined
  /** The number of verified arrivals of this activity id at the host, including the first. */
  readonly arrivals: number
}

export interface SimInbox {
  readonly arrivals: Arrivals<ReceivedActivity>
  /** Verifies and stores one POST. Depending on the host, it answers before or after the verification. A repeated verified activity is only counted. */
  accept(request: SimRequest): Promise<SimAnswer>
}

/** Creates the inbox of all hosts. `checks` has the signature checks of each host. */
export function createInbox(checks: ReadonlyMap<string, SignatureChecks>): SimInbox {
  const arrivals = createArrivals<ReceivedActivity>('activity')
  const verifiedActivities = new Map<string, { arrivals: number }>()

  async function verifyActivity(request: SimRequest, activity: ReceivedDocument): Promise<SimAnswer> {
    const reason = await findVerificationError(request, activity, checks.get(request.host))
    const key = `${request.host} ${activity.id}`
    const knownEntry = verifiedActivities.get(key)
    if (reason === undefined && knownEntry) {
      knownEntry.arrivals += 1
      return { status: 202 }
    }
    const entry = { host: request.host, inbox: request.path, activity, verified: !reason, reason, arrivals: 1 }
    if (!reason) verifiedActivities.set(key, entry)
    arrivals.add(entry)
    return reason ? refuse(reason, request.host) : { status: 202 }
  }

  return {
    arrivals,
    async accept(request) {
      const activity = parseObject(request.body)
      if (!activity || typeof activity.id !== 'string') return answerJson({ error: 'not an activity' }, undefined, 400)
      const answer = verifyActivity(request, activity)
      return fediverseHosts[request.host]?.persona.verifiesLater ? { status: 202 } : answer
    },
  }
}

/** Refuses a request. A host that verifies only RFC 9421 states the signature that it accepts (RFC 9421 §5). */
function refuse(reason: string, host: string): SimAnswer {
  const answer = answerJson({ error: reason }, undefined, 401)
  if (fediverseHosts[host]?.persona.readableSchemes.includes('draft-cavage') !== false) return answer
  const requiredComponents = coveredComponents.POST.map(name => `"${name}"`).join(' ')
  return { ...answer, headers: { ...answer.headers, 'accept-signature': `sig1=(${requiredComponents});created;keyid` } }
}

async function findVerificationError(
  request: SimRequest,
  activity: ReceivedDocument,
  checks: SignatureChecks | undefined,
): Promise<string | undefined> {
  if (!checks) return 'no actor has this host'
  try {
    const signer = await verifySigner(request, checks)
    return signer === activity.actor ? undefined : `signed by ${signer}, not by the actor`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function parseObject(body: Buffer): ReceivedDocument | undefined {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as ReceivedDocument) : undefined
  } catch {
    return undefined
  }
}
