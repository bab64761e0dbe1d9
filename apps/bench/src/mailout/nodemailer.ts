// Sends mail with nodemailer over pooled connections, for comparison.
import { generateKeyPairSync } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { createTransport } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer/index.js'
import { replyText } from '../orders/fanout.ts'
import type { MailOrder, MailOutSetup } from '../orders/mailout.ts'
import { personOf } from '../orders/mailout.ts'
import { gatewayHost } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'

interface Setup extends MailOutSetup {
  /** True to add two DKIM signatures with mailauth, like ours. */
  readonly isSigned: boolean
}

const from = `scribe@${gatewayHost}`
const keys = [generateKeyPairSync('rsa', { modulusLength: 2048 }), generateKeyPairSync('ed25519')]
const signatureData = keys.map(({ privateKey }, index) => ({
  signingDomain: gatewayHost,
  selector: `s${index}`,
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}))

/** Runs nodemailer as its manual shows it: a pool of connections, text and HTML; nothing is stored. */
await serveMeasured<Setup>(async ({ port, isSigned }) => {
  const transport = createTransport({ host: '127.0.0.1', port, pool: true, maxMessages: Number.POSITIVE_INFINITY })
  let sentCount = 0
  const sendAnswer = async (sequenceNumber: number) => {
    const mail = writeAnswer(sequenceNumber)
    await transport.sendMail(isSigned ? { envelope: { from, to: mail.to }, raw: await signMail(mail) } : mail)
    sentCount++
  }
  return {
    port: 0,
    handled: () => sentCount,
    async work(input) {
      const { first, count } = input as MailOrder
      await Promise.all(Array.from({ length: count }, (_, index) => sendAnswer(first + index)))
    },
    close: () => transport.close(),
  }
})

function writeAnswer(sequenceNumber: number) {
  const id = `<question-${sequenceNumber}@people.test>`
  const headers = { 'Auto-Submitted': 'auto-replied', 'X-Auto-Response-Suppress': 'All' }
  const thread = { subject: 'Re: Last train', inReplyTo: id, references: [id] }
  return { from, to: personOf(sequenceNumber), ...thread, text: replyText, html: `<p>${replyText}</p>`, headers }
}

async function signMail(mail: ReturnType<typeof writeAnswer>): Promise<Buffer> {
  const message = await new MailComposer(mail).compile().build()
  const { signatures } = await dkimSign(message, {
    canonicalization: 'relaxed/relaxed',
    signatureData,
  } as unknown as Parameters<typeof dkimSign>[1])
  return Buffer.concat([Buffer.from(signatures), message])
}
