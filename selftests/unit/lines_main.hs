-- SPDX-License-Identifier: GPL-2.0-only
-- A loop whose lines differ in what they cost, for symbols_test.sh.
module Main (main, spin) where

spin :: Int -> Int -> Int
spin 0 acc = acc
spin n acc
  | even acc = spin (n - 1) (acc `rem` (n + 9) * 2 + 1) -- cold
  | otherwise = spin (n - 1) (product (map (\k -> (acc + k) `rem` (k + 7) + 1) [n .. n + 5])) -- hot
{-# NOINLINE spin #-}

main :: IO ()
main = print (spin 20000000 1)
