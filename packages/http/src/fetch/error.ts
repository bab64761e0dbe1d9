import { Unavailable, Undeliverable } from '@postern/core'
import { refuseFetch } from '../address/url.ts'

const certificateProblem = /CERT|SELF_SIGNED|UNABLE_TO_/

/** The gateway's description of a network error. */
export function toFetchError(error: unknown): Error {
  if (error instanceof Undeliverable || error instanceof Unavailable) return error
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'HPE_HEADER_OVERFLOW') return refuseFetch('answer headers are too large', { cause: error })
  return new Unavailable(`Cannot fetch: ${describeCode(code)}`, { cause: error })
}

function describeCode(code: string): string {
  if (certificateProblem.test(code)) return 'certificate is not valid'
  if (code.startsWith('HPE_')) return 'answer is not HTTP'
  return 'connection failed'
}
