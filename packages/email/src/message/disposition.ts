// Decides if an agent answers a mail, reads it, or never sees it.

import { agentFlag } from '@postern/message'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isAutoReply } from '../automatic/auto-reply.ts'
import { isListMail } from '../automatic/field-rules.ts'
import type { NoAnswerContext } from '../automatic/no-answer-flags.ts'
import { findNoAnswerFlags } from '../automatic/no-answer-flags.ts'
import type { ParsedReport } from '../bounces/bounce.ts'
import { judgeReport, noReport } from '../bounces/bounce.ts'
import type { EmailConfig } from '../config.ts'
import type { ReplyAddress } from '../outgoing/reply-address.ts'

/** The flags of mail that no agent may see. Such mail is stored for the operator. */
const operatorOnlyFlags: ReadonlySet<string> = new Set([
  'duplicate_header',
  'parser_killed',
  'mime_limits',
  'unparsable',
  'dmarc_quarantine',
  'signature_flood',
])

interface DispositionFacts {
  /** The flags for this recipient alone. */
  readonly recipientFlags: readonly string[]
  readonly reply: ReplyAddress
  readonly parsedReport: ParsedReport | undefined
}

/** Returns the flags, the reports and the disposition of a mail for one of its recipients. */
export function decideDisposition(
  mail: ProvenMail,
  context: NoAnswerContext,
  { recipientFlags, reply, parsedReport }: DispositionFacts,
  config: Pick<EmailConfig, 'answer_lists' | 'show_auto_replies'>,
) {
  const noAnswerFlags = findNoAnswerFlags(mail, context)
  const { agentMail, tokens, token } = context
  const { agent } = context.recipient
  const report = parsedReport
    ? judgeReport(parsedReport, { agent, tokens, token, receivedAt: mail.raw.receivedAt })
    : noReport
  const quarantineFlags = mail.authentication.isQuarantined ? ['dmarc_quarantine'] : []
  const agentFlags = agentMail ? [agentFlag] : []
  const listFlags = config.answer_lists && isListMail(mail) ? ['by_list'] : []
  const formFlags = reply.namedBy === 'form' ? ['by_form'] : []
  const mailFlags = [...mail.flags, ...recipientFlags, ...agentFlags, ...listFlags, ...formFlags]
  const flags = [...mailFlags, ...reply.flags, ...quarantineFlags, ...noAnswerFlags, ...report.flags]
  return { flags, mailDisposition: chooseMailDisposition(mail, { noAnswerFlags, flags }, config), report }
}

/** Returns the disposition. `show` means that the agent reads the mail and that the gateway sends no response. */
function chooseMailDisposition(
  mail: ProvenMail,
  { noAnswerFlags, flags }: { readonly noAnswerFlags: readonly string[]; readonly flags: readonly string[] },
  config: Pick<EmailConfig, 'show_auto_replies'>,
): 'answer' | 'show' | 'keep' {
  if (flags.some(flag => operatorOnlyFlags.has(flag))) return 'keep'
  if (noAnswerFlags.length === 0) return 'answer'
  return config.show_auto_replies && isAutoReply(mail, noAnswerFlags) ? 'show' : 'keep'
}
