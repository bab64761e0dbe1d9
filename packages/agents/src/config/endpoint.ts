// Validates the URL and the bearer token of a server that an agent calls.
import { z } from 'zod'

/** Address of a server that an agent asks; it may be private. */
export const endpointUrlSchema = z.url({ protocol: /^https?$/ }).refine(hasNoCredentials, 'must not hold credentials')

/** Bearer token of such a server. */
export const bearerSchema = z.string().regex(/^[\x21-\x7e]+$/, 'must be one word of ASCII')

function hasNoCredentials(url: string): boolean {
  const parsedUrl = URL.parse(url)
  return !parsedUrl?.username && !parsedUrl?.password
}
