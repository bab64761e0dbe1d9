// Writes docs/reference/flags.md from the flags of messages.
import type { WhyFacts } from '../../../packages/operator/src/why/facts.ts'
import { writeFix } from '../../../packages/operator/src/why/reason.ts'
import { withheldCases } from '../../../packages/operator/src/why/rules/withheld-messages.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
A flag is a word that the gateway writes to a message when it notices something. \`npx postern messages\` and \`npx postern show\` print flags. An agent gets them
in \`flags\` beside the message.

- A message with a flag of the first table goes to no agent. \`npx postern why\` says so, with a fix.
- The flags of the second table keep nothing back. An agent may use them to judge what it reads.
`

const unsignedFields = ['to', 'cc', 'subject', 'date', 'in_reply_to', 'references', 'message_id', 'reply_to']

/** Flags that do not keep a message from its agent. */
export const noticedFlags: Readonly<Record<string, string>> = {
  from_agent: 'a program wrote it: a bot, an agent or a local agent',
  may_be_replayed: 'its proof does not cover both its recipient and its time, so another party may have brought it',
  by_form: 'a contact form of `email.reply_to_from` wrote it for a visitor',
  by_list: 'a mailing list brought it',
  deleted: 'its author has deleted it',
  edited: 'its author has edited it; the agent got the new words',
  policy_resolution: 'it decides a requirement of the agent',
  task_canceled: 'its sender has canceled the task in which the agent asks something',
  hidden_text: 'it had text that people do not see; the gateway has removed it',
  invisible_characters: 'it has characters that show nothing',
  text_cut: 'its text was longer than an agent gets, and ends early',
  alternative_mismatch: 'the HTML of the mail says something else than its plain text',
  attachments_dropped: 'it had more files than the gateway takes',
  lookalike: 'the address of its sender looks like one that this agent knows',
  lookalike_domain: 'the domain of its sender looks like another one',
  mixed_script: 'the domain of its sender mixes scripts',
  display_name_spoof: 'the name of its sender looks like an address or an agent',
  message_id_reused: 'another mail has the same `Message-ID`',
  replayed_signature: 'its signature came before, to another agent',
  reply_to_diverted: 'its `Reply-To` does not count, so the answer goes to its author',
  dns_trouble: 'DNS did not answer while the gateway looked for proofs',
  short_key: 'the key that signed it is short',
  unsigned_structure: 'its signature does not cover how its body divides into parts',
  smime_signed: 'it has an S/MIME signature, which the gateway does not verify',
  smime_encrypted: 'S/MIME encrypts it, and the agent cannot read it',
  pgp_signed: 'it has a PGP signature, which the gateway does not verify',
  pgp_encrypted: 'PGP encrypts it, and the agent cannot read it',
  tnef: 'it has a file `winmail.dat` (TNEF)',
  ...Object.fromEntries([['sibling', 'an agent of this gateway wrote it']]),
  ...Object.fromEntries(
    [...unsignedFields, 'content_type', 'content_transfer_encoding'].map(field => [
      `unsigned_${field}`,
      'its signature does not cover this header field',
    ]),
  ),
}

/** Writes docs/reference/flags.md. */
export function describeFlags(): string {
  const facts = { message: { agent: '*' } } as unknown as WhyFacts
  const fixes = Map.groupBy(withheldCases, ([, { fix }]) => fix && writeFix({ fix }, facts).text)
  fixes.delete(undefined)
  return formatPage('Flags', [
    intro,
    '## Flags that keep a message from its agent',
    formatMarkdownTable(
      ['flag', 'why', '`postern why` says'],
      withheldCases.map(([flag, { code, why }]) => [formatInlineCode(flag), why, formatInlineCode(code)]),
    ),
    '### Fixes',
    [...fixes]
      .map(([text, cases]) => `- ${cases.map(([flag]) => formatInlineCode(flag)).join(', ')}: ${text}`)
      .join('\n'),
    '## Flags that tell the agent something',
    formatMarkdownTable(
      ['flag', 'meaning'],
      Object.entries(noticedFlags).map(([flag, meaning]) => [formatInlineCode(flag), meaning]),
    ),
  ])
}
