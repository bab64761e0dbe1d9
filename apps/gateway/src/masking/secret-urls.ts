// Finds the parts of a URL that may be secrets: user, password and query.

type UrlComponent = 'user' | 'password' | 'query'

const databasePasswordPattern = /^(postgres(?:ql)?:\/\/[^:@/?#]*:)([^?#]*)@/
const userInfoPattern = /^((?!postgres)[a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i
const queryPattern = /\?([^#]+)/

export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}

/** Replaces the user, the password and the query of a URL. Keeps a database’s user; in other URLs even a name alone may be a secret. */
export function replaceUrlSecrets(url: string, replace: (part: string, kind: UrlComponent) => string): string {
  return url
    .replace(
      databasePasswordPattern,
      (_, start: string, password: string) => `${start}${replace(password, 'password')}@`,
    )
    .replace(userInfoPattern, (_, start: string, user: string) => `${start}${replace(user, 'user')}@`)
    .replace(queryPattern, (_, parameters: string) => `?${replace(parameters, 'query')}`)
}
