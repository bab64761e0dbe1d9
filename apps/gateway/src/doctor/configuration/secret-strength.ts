import { isGuessableSecret } from '@postern/http'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'

/** Less can be found by trying, for somebody who can try without us. */
const leastBits = 80

/** `what`: what the secret is, as `the operator token`; `risk`: what somebody does who has guessed it. */
export function judgeSecret(secret: string, { what, risk }: { readonly what: string; readonly risk: string }): Verdict {
  const fix = 'Use 24 or more random characters, such as from: openssl rand -base64 24'
  if (isGuessableSecret(secret)) return failure(`${what} is so short that it can be guessed: ${risk}`, fix)
  return estimateBits(secret) < leastBits
    ? warning(`${what} repeats itself and may be guessed: ${risk}`, fix)
    : ok(`${what} is long enough`)
}

/** As if each character were chosen by chance from those that occur: never less than it is. */
function estimateBits(secret: string): number {
  return secret.length * Math.log2(new Set(secret).size)
}
