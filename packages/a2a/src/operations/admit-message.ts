import type { Admitted, Inbound, TaskKey } from '@postern/core'
import { receive, recordRefusal } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
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
    verify: call => resolveMessage(call, deps),
    normalize: proven => [normalizeMessage(proven, gateway.agents.domain)],
  }
  return async call => {
    const reception = { admission, store, platform, from: call.from }
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
