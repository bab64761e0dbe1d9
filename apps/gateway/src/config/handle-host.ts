import type { Config } from './schema.ts'

/** The domain of every `@agent@domain`. */
export function handleHostOf({ handle_host, origin }: Pick<Config, 'handle_host' | 'origin'>): string {
  return handle_host ?? new URL(origin).hostname
}
