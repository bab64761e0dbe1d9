// Sends SMTP and LMTP sessions.
import type { MailCase } from '../cases/case.ts'
import type { FuzzAnswer } from './answer.ts'
import { sendBytes } from './send-bytes.ts'

/** Sends a session like a client that reads nothing until the end. */
export async function sendMail(port: number, { body }: MailCase, signal: AbortSignal): Promise<FuzzAnswer> {
  const isComplete = () => false
  const reply = await sendBytes({
    port,
    bytes: body,
    waitsForGreeting: true,
    ends: 'later',
    isComplete,
    signal,
  })
  const text = reply.toString('latin1')
  const codes = [...text.matchAll(/^(\d{3}) /gm)].map(([, code]) => Number(code))
  return { status: codes.at(-1), text }
}
