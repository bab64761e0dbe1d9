import { setTimeout as delay } from 'node:timers/promises'
import type { MessageRecord } from '@postern/core'
import type { Verdict } from '../../../checks/finding.ts'
import { failure, ok, warning } from '../../../checks/finding.ts'
import type { ConfiguredClient as OperatorClient } from '../../client.ts'
import { messageOperations } from '../../messages/operations.ts'
import { suppressionOperations } from '../../suppressions/operations.ts'

interface LoopTimes {
  readonly patienceMs: number
  readonly pauseMs: number
}

const usual: LoopTimes = { patienceMs: 60_000, pauseMs: 1_000 }

/** Signs a mail, sends it to ourselves by way of the smarthost, and looks at what comes back and whether we believe it. */
export async function checkMailLoop(
  client: OperatorClient,
  { patienceMs, pauseMs }: LoopTimes = usual,
): Promise<Verdict> {
  const { config, isRunning } = client
  if (!config.email.submit) return ok('not tried: there is no smarthost')
  if (!isRunning) return warning('not tried: the gateway does not run', 'Start it, then ask again.')
  const { id } = await client.call(suppressionOperations.probe, { parameters: { channel: 'email' } })
  for (let waited = 0; waited < patienceMs; waited += pauseMs) {
    await delay(pauseMs)
    const record = await findMessage(client, id)
    if (record) return judgeReturn(record)
  }
  return failure(
    'a mail to ourselves did not come back',
    'Look at the queue of the smarthost, at the MX record, and at "postern messages" for what was refused.',
  )
}

async function findMessage(client: OperatorClient, id: string): Promise<MessageRecord | undefined> {
  return client.call(messageOperations.find, { parameters: { id } }).catch(() => undefined)
}

function judgeReturn({ message, proofs }: MessageRecord): Verdict {
  if (message.sender.verified)
    return ok(`a mail to ourselves came back and was believed (${message.sender.auth_method})`)
  const dkim = proofs.filter(({ kind }) => kind === 'dkim').map(({ verdict, reason }) => reason ?? verdict)
  return failure(
    `a mail to ourselves came back, and nothing proves that it is ours: ${dkim.join('; ') || 'no signature'}`,
    'Publish what "postern keys" prints, and let the smarthost change nothing.',
  )
}
