// Fetches the objects that a proven activity refers to.

import type { Proof } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IntakeSteps } from '@postern/pipeline'
import type { IsBlocked } from './domains/blocklist.ts'
import { isAboutBlockedHost } from './domains/blocklist.ts'
import type { Findings, InboxDeps, InboxLookups, ResolvedInboxRequest } from './inbox/activity-kind.ts'
import { activityKinds } from './inbox/kinds/activity-kinds.ts'
import { createFetchLimit } from './peers/fetch-limits.ts'
import type { NamedActivity, ProvenActivity, VerifiedInboxRequest } from './proofs/proven-activity.ts'
import { describeUnused } from './unused-activity.ts'
import type { Handles } from './webfinger/handles.ts'

interface ResolveDeps extends InboxLookups {
  readonly gateway: InboxDeps
  readonly handles: Pick<Handles, 'confirm'>
  readonly isBlocked: IsBlocked
  /** The agent of the inbox. It is absent for the shared inbox. */
  readonly agent?: string | undefined
  /** Returns true if the operator's list has room for one more unused activity of this host. */
  mayListUnused(host: string): boolean
}

const postTypes: ReadonlySet<string> = new Set(['Create', 'Update', 'Announce'])

/**
 * Fetches the objects that a proven activity refers to. The name of its sender is confirmed only if the activity
 * concerns a local agent.
 * @throws Rejection `forbidden`
 */
export async function resolveInboxRequest(
  verifiedRequest: VerifiedInboxRequest,
  deps: ResolveDeps,
  steps: IntakeSteps,
): Promise<ResolvedInboxRequest> {
  if (verifiedRequest === 'ignored' || !verifiedRequest.activity) return verifiedRequest
  const { type, json } = verifiedRequest.activity
  if (postTypes.has(type) && isAboutBlockedHost(json, deps.isBlocked))
    return listUnused(verifiedRequest, deps, 'Cannot give activity to an agent: its post is of a blocked host')
  const kind = activityKinds.get(type)
  const resolveStartedAt = steps.now()
  const findings = await kind?.find(verifiedRequest, deps)
  if (!kind || !findings) return listUnused(verifiedRequest, deps)
  steps.recordCheck({ kind: 'resolve', verdict: 'pass' }, resolveStartedAt)
  const confirmStartedAt = steps.now()
  const namedActivity = concernsAgents(findings)
    ? await confirmActorName(verifiedRequest, deps)
    : { ...verifiedRequest, address: undefined }
  const handleProof = namedActivity.proofs.find(({ kind: proof }) => proof === 'webfinger')
  if (handleProof) steps.recordCheck(handleProof, confirmStartedAt)
  return {
    kind,
    resolved: { proven: namedActivity, agents: [], earlierMessages: [], gateway: deps.gateway, ...findings },
  }
}

function listUnused({ activity }: ProvenActivity, deps: ResolveDeps, blockedReason?: string): ResolvedInboxRequest {
  const unused = describeUnused(activity, deps)
  if (!unused || !deps.mayListUnused(activity.actor.host)) return 'ignored'
  return { unused: blockedReason === undefined ? unused : { ...unused, code: 'forbidden', reason: blockedReason } }
}

/** The most unused activities a minute in the operator's list. */
const unusedLimits = { perHost: 30, total: 300 } as const

/** Creates the limit. A flood of unused activities must not push everything else out of the operator's list. */
export function createUnusedLimit(now: () => number): ResolveDeps['mayListUnused'] {
  const listingLimit = createFetchLimit(unusedLimits, now)
  return host => {
    try {
      listingLimit.consume(host)
      return true
    } catch (error) {
      if (error instanceof Rejection) return false
      throw error
    }
  }
}

function concernsAgents({ agents = [], earlierMessages = [], post }: Findings): boolean {
  return agents.length > 0 || earlierMessages.length > 0 || post !== undefined
}

async function confirmActorName(activity: ProvenActivity, { handles }: ResolveDeps): Promise<NamedActivity> {
  const address = await handles.confirm(activity.actor)
  return { ...activity, address, proofs: [...activity.proofs, toHandleProof(address)] }
}

function toHandleProof(address: string | undefined): Proof {
  if (address) return { kind: 'webfinger', verdict: 'pass', address }
  return { kind: 'webfinger', verdict: 'none', reason: 'the name is not confirmed by its host' }
}
