// Parses the option `--limit` of commands that list.
import { InvalidArgumentError } from 'commander'

/** Parses a limit. @throws InvalidArgumentError */
export function parseLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 500) return limit
  throw new InvalidArgumentError('It must be a whole number from 1 to 500.')
}
