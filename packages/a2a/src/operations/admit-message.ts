import type { Admitted, Inbound, TaskKey } from '@postern/core'
import { createIntakeSteps, receive, recordRefusal } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { claimMessage, placeOf } from '../endpoint/refusals.ts'
import { A2aRejection } from '../format/errors.ts'
import type { SendMessageParams } from '../format/wire.ts'
import { normalizeMessage } from '../normalize.ts'
import type { ResolvedMessage } from '../resolve.ts'
import { resolveMessage } from '../resolve.ts'
import type { A2aOperationDeps } from './operation.ts'

/** A durable message, and how much of the answer its sender wants. */
export interface AdmittedMessage extends Admitted {
  readonly task: TaskKey
  readonly params: SendMessageParams
}

/** verify → normalize → admit. @throws A2aRejection, Rejection, Unavailable */
export type AdmitMessage = (call: Call) => Promise<AdmittedMessage>

export function createAdmitMessage(deps: A2aOperationDeps): AdmitMessage {
  const { gateway, feeds, expiry } = deps
  const { admission, store, platform } = gateway
  const inbound: Inbound<Call, ResolvedMessage> = {
    name: 'a2a',
    async verify(call, steps) {
      const since = steps.now()
      const resolved = await resolveMessage(call, deps)
      for (const proof of resolved.senderEvidence.proofs) steps.note(proof, since)
      steps.note({ kind: 'resolve', verdict: 'pass' }, since)
      return resolved
    },
    normalize: proven => [normalizeMessage(proven, gateway.agents.domain)],
  }
  return async call => {
    const steps = call.steps ?? createIntakeSteps(platform)
    claimMessage(steps, call.params)
    const place = placeOf({ ...call, steps, request: call.request ?? call })
    const reception = { admission, store, platform, steps, ...place }
    const [admitted] = await receive(inbound, call, reception)
    const task = admitted?.task
    if (!admitted || !task) throw new Error('the store admitted a message without its task')
    if (admitted.outcome === 'conflict') {
      const conflict = refuseConflict()
      recordRefusal(conflict, 'a2a', reception)
      throw conflict
    }
    feeds.track(task, admitted.message)
    expiry.note(task.owner, call.bytes.byteLength)
    return { ...admitted, task, params: call.params as SendMessageParams }
  }
}

function refuseConflict(): A2aRejection {
  const description = 'was used for another message'
  const violations = [{ field: 'message.messageId', description }]
  return new A2aRejection('invalidParams', `Cannot SendMessage: message.messageId ${description}`, { violations })
}
