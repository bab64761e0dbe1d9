import { readdirSync, readFileSync } from 'node:fs'
import type { MailGateway } from './gateway.ts'
import { mailDomain } from './gateway.ts'

/** The disposition of a mail at the endpoint. */
interface Disposition {
  readonly file: string
  /** `refused`: with a code; `kept`: with flags; `answered`: the agent would get a turn. */
  readonly disposition: 'refused' | 'kept' | 'answered'
  readonly why: readonly string[]
}

/** Every mail of a folder, in the order of their names. */
export async function judgeDispositions(gateway: MailGateway, folder: URL): Promise<readonly Disposition[]> {
  const names = readdirSync(folder).filter(name => name.endsWith('.eml'))
  const dispositions: Disposition[] = []
  for (const name of names.sort())
    dispositions.push(await judgeDisposition(gateway, name, readFileSync(new URL(name, folder), 'latin1')))
  return dispositions
}

/** Through the endpoint as an MTA would bring it: without the line mbox files begin with, MAIL FROM as the last hop wrote it down. */
async function judgeDisposition(gateway: MailGateway, file: string, mail: string): Promise<Disposition> {
  const octets = Buffer.from(mail.replace(/^From .*\r?\n/, ''), 'latin1')
  const from = /^Return-Path:\s*<?([^<>\s]*)>?/im.exec(octets.toString('latin1').split(/\r?\n\r?\n/, 1)[0] ?? '')?.[1]
  const envelope = { to: `echo@${mailDomain}`, ...(from !== undefined && { from }) }
  const before = (await gateway.store.count()).messages
  const answer = await gateway.post(octets, envelope)
  if (answer.status !== 200) return { file, disposition: 'refused', why: [answer.body.detail ?? ''] }
  const after = (await gateway.store.count()).messages
  const [summary] = await gateway.store.listMessages({ limit: 1 })
  const record = summary && (await gateway.store.findMessage(`#${summary.message}`))
  return { file, disposition: after.received > before.received ? 'answered' : 'kept', why: record?.flags ?? [] }
}
