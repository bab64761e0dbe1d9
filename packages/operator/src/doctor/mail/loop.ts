// Sends a test mail through the smarthost to the gateway itself.
import type { MessageRecord } from '@postern/pipeline'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'

const maxTripMs = 20_000
const pauseMs = 500
const subject = 'test mail'

/** Sends a signed mail through the smarthost to the gateway itself, and checks that it arrives as proven. No agent gets it. */
export async function checkMailLoop(deps: DoctorDeps): Promise<CheckOutcome> {
  const { channels, store } = requireOpened(deps)
  const probe = channels.map(channel => channel.diagnostics?.probe).find(probeMail => probeMail !== undefined)
  if (!deps.config.email.submit || !probe) return skip(subject, 'there is no smarthost (email.submit)')
  try {
    const id = await probe()
    const record = await awaitMessage(() => store.findMessage(id))
    return outcomeFor(subject, record ? judgeReturnedMail(record) : judgeMissingMail())
  } catch (error) {
    const fix = 'Correct email.submit, or look into the log of the mail server.'
    return outcomeFor(subject, failure(`the smarthost did not take a test mail: ${describeError(error)}`, fix))
  }
}

async function awaitMessage(find: () => Promise<MessageRecord | undefined>): Promise<MessageRecord | undefined> {
  const deadline = performance.now() + maxTripMs
  for (;;) {
    const record = await find()
    if (record || performance.now() > deadline) return record
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/** Returns only a warning, because a slow server may still deliver the mail. */
function judgeMissingMail(): Verdict {
  return warning(
    `a test mail did not come back within ${maxTripMs / 1000} s`,
    'See "postern messages" in a minute. If the mail is missing, check the queue of the smarthost, the MX record and "postern refusals".',
  )
}

function judgeReturnedMail({ message, proofs }: MessageRecord): Verdict {
  if (message.sender.verified) return ok(`a test mail came back as proven (${message.sender.auth_method})`)
  const dkim = proofs.filter(({ kind }) => kind === 'dkim').map(({ verdict, reason }) => reason ?? verdict)
  return failure(
    `a test mail came back, but nothing proves its sender: ${dkim.join('; ') || 'no signature'}`,
    'Publish the records that "postern keys" prints, and let the smarthost change nothing.',
  )
}
