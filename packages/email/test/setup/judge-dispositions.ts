// Judges the disposition of each mail of a folder.
import { readdirSync, readFileSync } from 'node:fs'
import type { MailGateway } from './gateway.ts'
import { mailDomain } from './gateway.ts'

/** The disposition of a mail at the endpoint. */
interface Disposition {
  readonly file: string
  /** The outcome: `refused` with a code, `kept` with flags, or `answered` if the agent would get a turn. */
  readonly disposition: 'refused' | 'kept' | 'answered'
  readonly why: readonly string[]
}

/** Judges every mail of a folder, in the order of their names. */
export async function judgeDispositions(gateway: MailGateway, folder: URL): Promise<readonly Disposition[]> {
  const names = readdirSync(folder).filter(name => name.endsWith('.eml'))
  const dispositions: Disposition[] = []
  for (const name of names.sort())
    dispositions.push(await judgeDisposition(gateway, name, readFileSync(new URL(name, folder), 'latin1')))
  return dispositions
}

/** Posts a mail as an MTA would: without the first line of mbox files, and with the MAIL FROM that the last hop recorded. */
async function judgeDisposition(gateway: MailGateway, file: string, mail: string): Promise<Disposition> {
  const octets = Buffer.from(mail.replace(/^From .*\r?\n/, ''), 'latin1')
  const from = /^Return-Path:\s*<?([^<>\s]*)>?/im.exec(octets.toString('latin1').split(/\r?\n\r?\n/, 1)[0] ?? '')?.[1]
  const envelope = { to: `echo@${mailDomain}`, ...(from !== undefined && { from }) }
  const countsBefore = (await gateway.store.count()).messages
  const answer = await gateway.post(octets, envelope)
  if (answer.status !== 200) return { file, disposition: 'refused', why: [answer.body.detail ?? ''] }
  const countsAfter = (await gateway.store.count()).messages
  const [summary] = await gateway.store.listMessages({ limit: 1 })
  const record = summary && (await gateway.store.findMessage(`#${summary.message}`))
  return {
    file,
    disposition: countsAfter.received > countsBefore.received ? 'answered' : 'kept',
    why: record?.flags ?? [],
  }
}
