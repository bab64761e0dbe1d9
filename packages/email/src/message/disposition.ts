// Decides if an agent answers a mail, reads it, or never sees it.

import { agentFlag } from '@postern/message'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isAutoReply } from '../automatic/auto-reply.ts'
import { isListMail } from '../automatic/field-rules.ts'
import type { MarkContext } from '../automatic/marks.ts'
import { findMarks } from '../automatic/marks.ts'
import type { ParsedReport } from '../bounces/bounce.ts'
import { judgeReport, noReport } from '../bounces/bounce.ts'
import type { EmailConfig } from '../config.ts'
import type { ReplyAddress } from '../out/reply-address.ts'

/** The flags of mail that no agent may see. Such mail is stored for the operator. */
const keepFlags: ReadonlySet<string> = new Set([
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
  context: MarkContext,
  { recipientFlags, reply, parsedReport }: DispositionFacts,
  config: Pick<EmailConfig, 'answer_lists' | 'show_auto_replies'>,
) {
  const marks = findMarks(mail, context)
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
  const flags = [...mailFlags, ...reply.flags, ...quarantineFlags, ...marks, ...report.flags]
  return { flags, handling: chooseDisposition(mail, { marks, flags }, config), report }
}

/** Returns the disposition. `show` means that the agent reads the mail and that nothing is sent. */
function chooseDisposition(
  mail: ProvenMail,
  { marks, flags }: { readonly marks: readonly string[]; readonly flags: readonly string[] },
  config: Pick<EmailConfig, 'show_auto_replies'>,
): 'answer' | 'show' | 'keep' {
  if (flags.some(flag => keepFlags.has(flag))) return 'keep'
  if (marks.length === 0) return 'answer'
  return config.show_auto_replies && isAutoReply(mail, marks) ? 'show' : 'keep'
}
