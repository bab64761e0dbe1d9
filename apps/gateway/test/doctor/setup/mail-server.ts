// Runs a mail server with scripted answers.
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import { makeCertificate } from '@postern/http/test-certificate'
import { serve } from './bench.ts'

interface MailServerPlan {
  /** The extensions that its answer to EHLO lists after its name. */
  readonly extensions?: readonly string[]
  /** The answer to RCPT. Absent for a refusal to relay. */
  readonly rcpt?: string
  /** The first line that the server sends. Absent for an ordinary greeting. */
  readonly banner?: string
  readonly certificate?: ReturnType<typeof makeCertificate>
  /** True if the connection uses TLS from the first byte. */
  readonly isSecure?: boolean
}

export const mxHost = 'mx.agents.test'
export const mailCertificate = makeCertificate(mxHost)

/** Starts a mail server with scripted answers, and returns its port. */
export function serveMail(plan: MailServerPlan = {}): Promise<number> {
  const { banner = `220 ${mxHost} ESMTP`, extensions = ['SIZE 26214400', 'STARTTLS'] } = plan
  const greeting = [mxHost, ...extensions]
  const replies: Readonly<Record<string, readonly string[]>> = {
    EHLO: greeting.map((line, index) => `250${index === greeting.length - 1 ? ' ' : '-'}${line}`),
    MAIL: ['250 2.1.0 ok'],
    RCPT: [plan.rcpt ?? '550 5.7.1 relaying denied'],
    RSET: ['250 2.0.0 ok'],
    STARTTLS: ['220 2.0.0 go ahead'],
    QUIT: ['221 2.0.0 bye'],
  }
  const listen = (answer: (socket: Socket) => void) =>
    plan.isSecure ? createTlsServer({ ...(plan.certificate ?? mailCertificate) }, answer) : createServer(answer)
  const server = listen(socket => {
    socket.on('error', () => undefined)
    socket.write(`${banner}\r\n`)
    socket.on('data', data => {
      const [command = ''] = data.toString().toUpperCase().split(/\s/)
      socket.write(`${(replies[command] ?? ['502 5.5.1 what?']).join('\r\n')}\r\n`)
      if (command === 'STARTTLS') startTls(socket, plan.certificate ?? mailCertificate)
    })
  })
  return serve(server)
}

function startTls(socket: Socket, { key, cert }: ReturnType<typeof makeCertificate>): void {
  socket.removeAllListeners('data')
  new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => undefined)
}
