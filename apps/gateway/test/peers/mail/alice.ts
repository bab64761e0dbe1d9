// Sends and reads mail as a person on a mail server.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadMail } from '@postern/simulation'
import { readMail } from '@postern/simulation'
import { waitUntil } from '../eventually.ts'
import { runCommand } from '../run-command.ts'
import type { Dkimpy } from './dkimpy.ts'
import { describePrograms } from './find-mail-programs.ts'
import { alice, mailPorts, peopleHost, stagePath, users } from './names.ts'

export interface DirectMessage {
  /** The sender's address; absent for alice's own. */
  readonly from?: string | undefined
  readonly to: string
  readonly subject: string
  readonly text: string
  /** True if another program on the way signs the mail. */
  readonly isUnsigned?: true
  /** The mail that this one answers; absent if it answers none. */
  readonly answers?: ReadMail | undefined
}

export interface Received extends ReadMail {
  /** The mail as stored in the mailbox. */
  readonly octets: string
}

/** A person who sends with swaks through the mail server, and reads her Maildir. */
export interface Alice {
  /** Sends a mail. Returns its Message-ID. */
  write(letter: DirectMessage): Promise<string>
  /** Waits for the mail that answers the one with this Message-ID. */
  findAnswer(id: string): Promise<Received>
  mailbox(): readonly Received[]
}

export function openAlice(packageRoot: string, dkimpy: Dkimpy): Alice {
  let writtenCount = 0
  const mailbox = () => readFolder(join(users.alice.home, 'Maildir/new'))
  return {
    async write(letter) {
      writtenCount += 1
      const id = `letter-${writtenCount}.${process.pid}@${peopleHost}`
      const mail = compose(letter, id)
      await sendBySwaks(packageRoot, letter, letter.isUnsigned ? mail : await dkimpy.sign(mail))
      return id
    },
    findAnswer: id =>
      waitUntil('the answer is in the mailbox', () => mailbox().find(({ inReplyTo }) => inReplyTo === id)),
    mailbox,
  }
}

function compose({ from = alice, to, subject, text, answers }: DirectMessage, id: string): string {
  const references = answers && [...answers.references, answers.messageId].map(id => `<${id}>`).join(' ')
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}>`,
    ...(answers ? [`In-Reply-To: <${answers.messageId}>`, `References: ${references}`] : []),
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '',
  ].join('\n')
}

async function sendBySwaks(packageRoot: string, { from = alice, to }: DirectMessage, mail: string): Promise<void> {
  const path = join(stagePath, 'letter.eml')
  writeFileSync(path, mail)
  const swaks = [
    'perl',
    join(packageRoot, 'usr/bin/swaks'),
    '--server',
    `127.0.0.1:${mailPorts.server}`,
    '--helo',
    peopleHost,
  ]
  const parameters = ['--timeout', '10', '--from', from, '--to', to, '--data', `@${path}`]
  await runCommand('env', [`PERL5LIB=${describePrograms(packageRoot).perl}`, ...swaks, ...parameters])
}

function readFolder(folder: string): readonly Received[] {
  try {
    return readdirSync(folder).map(name => {
      const octets = readFileSync(join(folder, name), 'latin1')
      return { ...readMail(Buffer.from(octets.replace(/\r?\n/g, '\r\n'), 'latin1')), octets }
    })
  } catch {
    return []
  }
}
