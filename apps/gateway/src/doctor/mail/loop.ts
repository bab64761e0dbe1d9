import type { MessageRecord } from '@postern/core'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

const patienceMs = 20_000
const pauseMs = 500
const subject = 'mail to ourselves'

/** Signs a mail, sends it to ourselves by way of the smarthost, and looks at what comes back and whether we believe it. No agent gets it. */
export async function checkMailLoop(deps: DoctorDeps): Promise<CheckOutcome> {
  const { channels, store } = requireOpened(deps)
  const probe = channels.map(channel => channel.probe).find(each => each !== undefined)
  if (!deps.config.email.submit || !probe) return skip(subject, 'there is no smarthost (email.submit)')
  try {
    const id = await probe()
    const record = await awaitMessage(() => store.findMessage(id))
    return about(subject, record ? judgeReturn(record) : judgeLost())
  } catch (error) {
    const fix = 'Correct email.submit, or look into the log of the mail server.'
    return about(subject, failure(`a mail to ourselves was not taken: ${describeError(error)}`, fix))
  }
}

async function awaitMessage(find: () => Promise<MessageRecord | undefined>): Promise<MessageRecord | undefined> {
  const end = performance.now() + patienceMs
  for (;;) {
    const record = await find()
    if (record || performance.now() > end) return record
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/** A slow server may still bring it. */
function judgeLost(): Verdict {
  return warning(
    `a mail to ourselves did not come back within ${patienceMs / 1000} s`,
    'See "postern messages" in a minute; else look at the queue of the smarthost, the MX record and "postern refusals".',
  )
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
