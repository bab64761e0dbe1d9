// Judges the settings of a Postfix on this machine.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Verdict } from '../../checks/verdict.ts'
import { ok, warning } from '../../checks/verdict.ts'
import type { DoctorConfig } from '../config.ts'

/** Settings of the Postfix on this machine, by name. */
export type PostfixSettings = Readonly<Record<string, string>>

const settingNames = [
  'smtpd_forbid_bare_newline',
  'smtpd_forbid_bare_newline_exclusions',
  'lmtp_send_xforward_command',
  'smtp_send_xforward_command',
  'message_size_limit',
] as const

/** Reads the settings of Postfix; undefined if there is no Postfix. */
export async function readPostfixSettings(): Promise<PostfixSettings | undefined> {
  const run = promisify(execFile)
  // `postconf` reports an unknown name on stderr, and still prints the others.
  const output = await run('postconf', [...settingNames], { timeout: 5_000 }).catch(() => undefined)
  if (!output) return undefined
  const lines = output.stdout.split('\n').map(line => /^(\w+)\s*=\s*(.*)$/.exec(line))
  return Object.fromEntries(lines.flatMap(match => (match ? [[match[1] ?? '', (match[2] ?? '').trim()]] : [])))
}

/**
 * Judges the protection against SMTP smuggling. A Postfix that accepts a bare line feed as a line end reads two mails where its neighbour sent one.
 * Its trusted clients, such as this machine, have no protection unless the exclusions are empty.
 */
export function judgeBareNewline(settings: PostfixSettings): Verdict {
  const { smtpd_forbid_bare_newline: bareNewlinePolicy, smtpd_forbid_bare_newline_exclusions: exclusions = '' } =
    settings
  if (bareNewlinePolicy === undefined) {
    return warning(
      'this Postfix cannot be told to refuse smuggled mail',
      'Update it to 3.5.24, 3.6.14, 3.7.10, 3.8.5 or later.',
    )
  }
  if (bareNewlinePolicy === 'no') {
    return warning(
      'Postfix takes smuggled mail',
      'postconf -e smtpd_forbid_bare_newline=normalize smtpd_forbid_bare_newline_exclusions=',
    )
  }
  return exclusions === ''
    ? ok(`Postfix stops smuggled mail (${bareNewlinePolicy}), from everybody`)
    : warning(`Postfix takes smuggled mail from ${exclusions}`, 'postconf -e smtpd_forbid_bare_newline_exclusions=')
}

/** Judges XFORWARD. Without it SPF would check the address of Postfix instead of the sender’s. */
export function judgeXforward(settings: PostfixSettings, { listen }: DoctorConfig['email']): Verdict {
  const name = `${listen?.protocol ?? 'smtp'}_send_xforward_command`
  if (settings[name] !== 'yes') {
    const fix = `postconf -e ${name}=yes, and name the address of Postfix in email.listen.trusted_peers.`
    return warning('Postfix does not tell the gateway which client sent a mail: SPF cannot be checked', fix)
  }
  return listen?.trusted_peers.length === 0
    ? warning(
        'Postfix tells which client sent a mail, but the gateway does not trust it: SPF cannot be checked',
        'Name the address of Postfix in email.listen.trusted_peers, such as "127.0.0.1".',
      )
    : ok('Postfix tells the gateway which client sent a mail')
}

export interface MailSizeSettings {
  /** `SIZE` of the smarthost (RFC 1870); undefined if it has none. */
  readonly smarthostMaxBytes?: number | undefined
  readonly settings?: PostfixSettings | undefined
}

/** Judges whether all servers accept mail of the same size. Otherwise accepted mail bounces. */
export function judgeSizes(
  { smarthostMaxBytes, settings }: MailSizeSettings,
  { limits, attach_bytes }: DoctorConfig['email'],
): Verdict {
  const gatewayLimit = limits.message_bytes
  const postfixLimit = Number(settings?.message_size_limit)
  if (Number.isFinite(postfixLimit) && postfixLimit > 0 && postfixLimit < gatewayLimit) {
    return warning(
      `Postfix takes mail up to ${postfixLimit} bytes, the gateway up to ${gatewayLimit}`,
      `postconf -e message_size_limit=${gatewayLimit}, or set email.limits.message_bytes to ${postfixLimit}.`,
    )
  }
  if (Number.isFinite(postfixLimit) && (postfixLimit === 0 || postfixLimit > gatewayLimit)) {
    return warning(
      `Postfix takes mail of ${postfixLimit || 'any number of'} bytes that the gateway then refuses (${gatewayLimit})`,
      `postconf -e message_size_limit=${gatewayLimit}`,
    )
  }
  const maxAttachmentBytes = toEncodedBytes(attach_bytes)
  if (smarthostMaxBytes && smarthostMaxBytes < maxAttachmentBytes) {
    return warning(
      `the smarthost takes mail up to ${smarthostMaxBytes} bytes, answers may have ${maxAttachmentBytes}`,
      `Set email.attach_bytes to ${toAttachmentBytes(smarthostMaxBytes)} or less: larger files are then linked.`,
    )
  }
  return ok('the sizes of mail agree')
}

/** The assumed size of the text and the header of a mail with attachments, bytes. */
const textBytes = 100_000

/** Returns the size of a mail with attachments of this size, which Base64 makes a third larger. */
function toEncodedBytes(attachmentBytes: number): number {
  return Math.ceil((attachmentBytes * 4) / 3) + textBytes
}

/** Returns the size of the attachments that a mail of this size can have. */
function toAttachmentBytes(mailBytes: number): number {
  return Math.floor(((mailBytes - textBytes) * 3) / 4)
}
