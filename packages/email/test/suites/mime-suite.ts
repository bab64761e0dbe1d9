// Runs the MIME parser on the test messages of other parsers.
import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { domainToASCII } from 'node:url'
import { Rejection } from '@postern/message'
import parseAddresses from 'nodemailer/lib/addressparser/index.js'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { openAddressReader } from '../../src/mail/address-list.ts'
import { readAuthor } from '../../src/mail/author.ts'
import { fieldValues, scanHeaders } from '../../src/mail/header.ts'
import { toCrlf } from '../../src/mail/line-ends.ts'
import { formatMailbox } from '../../src/mail/mailbox.ts'
import { readMailBody } from '../../src/mime/read-body.ts'
import type { ScoredCase } from './score.ts'

const limits = mailLimitsSchema.parse({})
const maxParseMs = 1000

/**
 * Scores whole messages. No message may throw or take a second, and the author must be the author that nodemailer
 * finds.
 */
export async function scoreMime(folder: URL): Promise<readonly ScoredCase[]> {
  const names = readdirSync(folder, { recursive: true }).map(String)
  const cases: ScoredCase[] = []
  for (const name of names.filter(name => /\.(?:eml|msg)$/.test(name))) {
    cases.push(await scoreMessage(name, toCrlf(readFileSync(new URL(encodeURI(name), folder)))))
  }
  return cases
}

async function scoreMessage(name: string, octets: Buffer): Promise<ScoredCase> {
  const start = performance.now()
  try {
    const header = scanHeaders(octets, limits)
    // The body is read regardless of the author, and before it is known whether the mail is accepted.
    const { text, flags } = await readMailBody(octets, header, {
      keepsQuotes: false,
      isStructureUnsigned: false,
      limits,
    })
    const ms = Math.round(performance.now() - start)
    if (flags.includes('unparsable') && text === '') return { name, hasPassed: false, note: 'not parsed' }
    const problem = await compareAuthor(fieldValues(header, 'from'))
    return { name, hasPassed: !problem && ms < maxParseMs, note: problem ?? `${ms} ms` }
  } catch (error) {
    // A refusal with a Rejection is a valid outcome.
    return { name, hasPassed: error instanceof Rejection, isRefused: true, note: String(error) }
  }
}

async function compareAuthor(from: readonly string[]): Promise<string | undefined> {
  const author = readAuthor(from, await openAddressReader())
  const [expectedAuthor] = parseAddresses(from[0] ?? '', { flatten: true })
  const address = expectedAuthor?.address.replace(/[^@]*$/, domain => domainToASCII(domain.toLowerCase()))
  return address === formatMailbox(author) ? undefined : `${formatMailbox(author)} instead of ${address}`
}
