export function isStageName(name: unknown): name is string {
  return typeof name === 'string' && stageName.test(name)
}

const stageName = /^[\p{L}\p{N}_.-](?:[\p{L}\p{N}_. -]{0,62}[\p{L}\p{N}_.-])?$/u
