-- SPDX-License-Identifier: GPL-2.0-only
-- A program with a bit of everything that an image describes: laziness, calls
-- in both directions, exceptions, STM. With an argument it waits for input.
module Main (main) where

import Control.Concurrent.STM
import Control.Exception
import qualified Data.Map.Strict as M
import Foreign.C.Types
import Foreign.Ptr
import System.Environment (getArgs)

foreign import ccall safe "wrapper"
  mkCallback :: (CInt -> IO CInt) -> IO (FunPtr (CInt -> IO CInt))

foreign import ccall safe "call_back"
  callBack :: FunPtr (CInt -> IO CInt) -> CInt -> IO CInt

foreign import ccall unsafe "burn" burn :: CInt -> CInt

{-# NOINLINE count #-}
count :: Int -> Int
count n = if n <= 0 then 0 else 1 + count (n - 1)

{-# NOINLINE table #-}
table :: Int -> M.Map Int Int
table n = foldr add M.empty [1 .. n]
  where
    add k = M.insertWith (+) (k `mod` 100) (count (k `mod` 100))

-- Its only constructor is the last code of the module.
data Box = Box !Int

{-# NOINLINE box #-}
box :: Int -> Box
box n = Box (count n)

main :: IO ()
main = do
  args <- getArgs
  callback <- mkCallback (\x -> return (x + fromIntegral (M.size (table 1000))))
  r <- callBack callback 1000
  v <- newTVarIO (0 :: Int)
  atomically (modifyTVar v (+ 1))
  x <- try (evaluate (1 `div` (0 :: Int))) :: IO (Either ArithException Int)
  print (r, burn 10, x, M.foldl' (+) 0 (table 2000))
  case box 3 of Box n -> print n
  if null args then return () else getLine >>= putStrLn
